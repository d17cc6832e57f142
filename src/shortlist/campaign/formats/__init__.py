"""File formats that labels leave and enter a campaign in, a file each; every one can be written and read."""
