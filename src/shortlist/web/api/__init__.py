"""The JSON API, a router a file."""
