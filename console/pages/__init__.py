"""What each page shows, as values ready for its template; no HTTP, no writing."""
