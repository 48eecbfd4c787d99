"""The loop in C++, where it was compiled when rigpact was installed: `--engine native`. Without it, numpy does the same."""
