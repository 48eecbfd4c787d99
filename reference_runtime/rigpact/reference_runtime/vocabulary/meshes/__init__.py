"""Operations on meshes and other points: three coordinates of one point after the other."""
