"""Holds what both surfaces share in carrying requests and answers: headers, bodies, JSON, errors, what is logged."""
