//! Errors as they are shown.
