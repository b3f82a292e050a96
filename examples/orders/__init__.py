"""A small order workflow with its own tables; of Ascertain it imports only the public client."""
