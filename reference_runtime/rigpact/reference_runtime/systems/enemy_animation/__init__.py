"""The enemy animation: the operations of its page, the engine's loop, its files, and what its runs are judged by."""
