"""The loop that selects, asks, charges and learns, as a resumable state machine over a folder."""
