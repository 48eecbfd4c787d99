"""Rules about the contract files, recordings and data sets of systems that are declared graphs of stages."""
