"""Files as the rules read them: a bundle, its companion, a clip, a teacher file, its rows."""
