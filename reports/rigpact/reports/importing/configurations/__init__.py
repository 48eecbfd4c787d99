"""Configurations of trainings and of robots: classes, deploy files and dumps that name their terms."""
