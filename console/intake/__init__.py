"""Somebody else's stuck rows, from a CSV file into unknown effects, once each."""
