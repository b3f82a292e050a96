"""The record: what we meant to do, what we know, and who decided."""
