"""Closed mechanisms: assembling, projecting, singular configurations, loop forces, actuation, and
systems whose loops come and go.
"""
