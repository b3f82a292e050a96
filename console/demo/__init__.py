"""The demonstration: sample tenants and accounts, and effects whose workers are really killed."""
