"""The deployment: pages, API, worker tasks, settings, and the stack that one command starts."""
