"""The deployment's own tables."""
