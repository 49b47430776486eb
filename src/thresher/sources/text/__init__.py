"""Line formats: LIBSVM / SVMlight and Vowpal Wabbit text."""
