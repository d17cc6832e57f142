"""Pages in a browser: people answer here."""
