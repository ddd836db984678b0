"""From a file to features, target, queries and weights: how the command line reads tables.

reading    files of any form as a table of text and numbers
notation   numbers, dates and missing cells as people write them
kinds      what the columns are: numbers, categories, dates, texts, or not to be used
columns    the schema of a table, and its columns as features
roles      which columns are the target, queries and weights
dataset    all of it: the one way from a file to a data set
cards      scorecards as models of tables
options    what a user can say about a table
errors     errors and notes, in one line each
"""
