//! Every criterion against its naive twin.
