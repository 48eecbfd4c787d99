"""Operations on what sensors give, and on the distributions that networks answer with."""
