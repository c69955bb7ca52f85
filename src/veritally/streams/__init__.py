"""Any number of decisions, and decisions with any number of voters, in bounded memory."""
