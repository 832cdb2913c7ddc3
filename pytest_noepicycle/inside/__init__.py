"""The half that runs in the project's interpreter: standard library and pytest only, syntax of Python 3.9."""
