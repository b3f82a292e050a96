"""The rules that decide: pure Python without Django, database, clock or environment."""
