"""The formulas of the hosted systems' upstreams, written again without rigpact, with the mistakes that people make."""
