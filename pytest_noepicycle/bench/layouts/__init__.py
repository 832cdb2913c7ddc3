"""Projects of every layout, each with one fault: does a sandbox see what pytest sees, and is the fault mended?"""
