"""The paper's user study in a browser: its plan, its folder, its pages, its results."""
