"""Operations on limbs: a pose that is sent, the rotations that come back, where they put the joints."""
