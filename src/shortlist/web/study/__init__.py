"""The paper's user study as pages that anybody can take part in."""
