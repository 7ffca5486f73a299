no object
