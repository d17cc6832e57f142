"""File formats that labels leave and enter a campaign in."""
