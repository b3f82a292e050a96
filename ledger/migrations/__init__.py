"""The record's schema, step by step."""
