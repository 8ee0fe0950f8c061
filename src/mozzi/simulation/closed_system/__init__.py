"""Systems that are attached to one another, and motions in which attachments come and go."""
