"""From a TOML file to a campaign: the recipe, its parts, building one, opening one, starting one."""
