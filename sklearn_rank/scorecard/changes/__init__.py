"""What happens to a card after its fit: editing, recalibration, comparison with another."""
