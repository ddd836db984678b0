"""From a file to features, target, queries and weights: how the command line reads tables.

reading    files of any form as a table of text and numbers
notation   numbers, dates and missing cells as people write them
columns    what the columns are (numbers, categories, dates, or not to be used), and their values
dataset    all of it: the one way from a file to a data set
cards      scorecards as models of tables
options    what a user can say about a table, by option
inputs     errors and notes, in one line each
"""
