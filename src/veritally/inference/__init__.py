"""From the likelihood of votes to an answer: maximum likelihood, posterior, and how sure it is."""
