"""A campaign's folder and its database."""
