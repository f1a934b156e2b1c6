"""Clinics that code diagnoses in two different ways."""
