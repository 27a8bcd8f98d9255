"""What both surfaces share of carrying requests and answers: headers, bodies, JSON, errors, and what is logged."""
