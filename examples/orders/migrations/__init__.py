"""The tables of the example."""
