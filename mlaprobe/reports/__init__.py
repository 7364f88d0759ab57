"""What people ask for: a survey, one shape explained, deployments."""
