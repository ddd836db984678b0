"""Why a row has its total, and which changes would give it another."""
