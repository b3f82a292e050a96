"""Examples of workflows that use Ascertain."""
