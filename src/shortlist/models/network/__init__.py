"""Networks for images, trained from scratch every round on whatever device there is."""
