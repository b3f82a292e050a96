"""The read side: bounded SQL, a constant number of statements per page."""
