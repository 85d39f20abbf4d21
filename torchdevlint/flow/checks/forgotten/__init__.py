"""What a function or object moves all but one of, and devices that it is told and forgets (TDL310)."""
