"""Commands of the deployment."""
