"""The contract fake: a provider in its own process, with memory, a log and fault scripts."""
