"""Who may label: accounts, passwords, sessions, leases, control questions."""
